/** What one of those who were asked has said; absent while it says nothing. */
export type Answer<T> = { readonly value: T } | { readonly trouble: Error };

/** Answers in the order of those who were asked. */
export interface Answers<T> {
  readonly all: readonly (Answer<T> | undefined)[];
  readonly pending: number;
}

/**
 * The verdict of many who were asked at the same time, as soon as `decide` has one: nobody is waited
 * for who could not change it. It is asked after every answer, and must have one when none is pending.
 */
export function settleEarly<T, V>(
  asked: readonly Promise<T>[],
  decide: (answers: Answers<T>) => V | undefined,
): Promise<V> {
  return new Promise((resolve, reject) => {
    const all: (Answer<T> | undefined)[] = asked.map(() => undefined);
    let pending = asked.length;
    const note = (index: number, answer: Answer<T>) => {
      all[index] = answer;
      pending -= 1;
      const verdict = decide({ all: [...all], pending });
      if (verdict !== undefined) resolve(verdict);
      else if (pending === 0) reject(new Error('all have answered, and there is no verdict'));
    };
    for (const [index, one] of asked.entries()) {
      one.then(
        (value) => note(index, { value }),
        (error: Error) => note(index, { trouble: error }),
      );
    }
  });
}

/** How many have answered what. */
export function count<T>({ all }: Answers<T>, matches: (value: T) => boolean): number {
  return valuesOf(all).filter(matches).length;
}

export function valuesOf<T>(all: Answers<T>['all']): T[] {
  return all.flatMap((answer) => (answer && 'value' in answer ? [answer.value] : []));
}

/** As settleEarly, together with the answers that the verdict came from. */
export function settled<T, V>(
  asked: readonly Promise<T>[],
  decide: (answers: Answers<T>) => V | undefined,
): Promise<{ verdict: V; answers: Answers<T> }> {
  return settleEarly(asked, (answers) => {
    const verdict = decide(answers);
    return verdict === undefined ? undefined : { verdict, answers };
  });
}
