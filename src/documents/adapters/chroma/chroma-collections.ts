import { type ChromaHttp, ChromaNotFoundError, ChromaRefusedError } from './chroma-http.js';

const PREFIX = 'doclock-passages-';
const PAGE = 200;

// Of the ten best of 2 000 passages that lie close together, the default of 100 found 88 %, this 99.7 %.
const index = { space: 'cosine', ef_search: 400 };

interface CollectionAnswer {
  readonly id: string;
  readonly name: string;
}

/**
 * The collections that hold passages: one per length of embeddings, since a collection takes vectors
 * of one length only. No name comes from a document. Ids are remembered, so that most operations cost
 * no look-up; a collection that was deleted behind our back is noticed and looked up again.
 */
export class ChromaCollections {
  private readonly known = new Map<number, string>();

  constructor(private readonly http: ChromaHttp) {}

  /** Runs `use` on the path of the collection for a length, which is created where it is missing. */
  inOwn<T>(
    dimensions: number,
    use: (path: string) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    return this.following(dimensions, use, () => this.create(dimensions, signal));
  }

  /** The same on a collection that may be missing: then null. */
  async inExisting<T>(dimensions: number, use: (path: string) => Promise<T>): Promise<T | null> {
    try {
      return await this.following(dimensions, use, () => this.find(dimensions));
    } catch (error) {
      if (error instanceof ChromaNotFoundError) return null;
      throw error;
    }
  }

  /** Runs `use` on the path of every collection of passages, one after the other. */
  async inAll(use: (path: string, dimensions: number) => Promise<void>): Promise<void> {
    for (const { id, name } of await this.list()) {
      try {
        await use(pathOf(id), Number(name.slice(PREFIX.length)));
      } catch (error) {
        // Deleted since it was listed: then it holds nothing.
        if (!(error instanceof ChromaNotFoundError)) throw error;
      }
    }
  }

  private async following<T>(
    dimensions: number,
    use: (path: string) => Promise<T>,
    look: () => Promise<string>,
  ): Promise<T> {
    const known = this.known.get(dimensions);
    if (known !== undefined) {
      try {
        return await use(pathOf(known));
      } catch (error) {
        if (!(error instanceof ChromaNotFoundError)) throw error;
        this.known.delete(dimensions);
      }
    }
    const id = await look();
    this.known.set(dimensions, id);
    return use(pathOf(id));
  }

  private async create(dimensions: number, signal?: AbortSignal): Promise<string> {
    const body = {
      name: PREFIX + dimensions,
      get_or_create: true,
      configuration: { hnsw: index, embedding_function: null },
    };
    try {
      const answer = await this.http.call({ method: 'POST', path: '/collections', signal, body });
      return (answer as CollectionAnswer).id;
    } catch (error) {
      // Versions of the server differ in how they say that the database is missing.
      const isRefused = error instanceof ChromaRefusedError || error instanceof ChromaNotFoundError;
      if (isRefused) await this.http.checkDatabase(signal);
      throw error;
    }
  }

  private async find(dimensions: number): Promise<string> {
    const path = `/collections/${PREFIX}${dimensions}`;
    return ((await this.http.call({ method: 'GET', path })) as CollectionAnswer).id;
  }

  private async list(): Promise<CollectionAnswer[]> {
    const found: CollectionAnswer[] = [];
    for (let offset = 0; ; offset += PAGE) {
      const path = `/collections?limit=${PAGE}&offset=${offset}`;
      const page = (await this.http.call({ method: 'GET', path })) as CollectionAnswer[];
      found.push(...page.filter(({ name }) => name.startsWith(PREFIX)));
      if (page.length < PAGE) return found;
    }
  }
}

function pathOf(id: string): string {
  return `/collections/${encodeURIComponent(id)}`;
}
