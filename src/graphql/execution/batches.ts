import DataLoader from 'dataloader';
import type { Reader } from '../../database/statements/reader.js';

/**
 * Gathers what the resolvers of one level ask for, so that each level of an operation costs one statement,
 * however many objects it has.
 */
export class Batches {
  private readonly loaders = new Map<string, DataLoader<number, unknown>>();
  private readonly known = new Map<string, unknown>();

  /** @param reader what everything is read from */
  constructor(private readonly reader: Reader) {}

  /**
   * Loads what belongs to a key, together with everybody who asks under the same name in the same moment.
   * @param name stands for the question with all its arguments
   * @param read answers for many keys at once, in their order, by what it reads from `reader`
   */
  load<Value>(
    name: string,
    key: number,
    read: (keys: readonly number[], reader: Reader) => Promise<Value[]>,
  ): Promise<Value> {
    const known = this.known.get(`${name} ${key}`) as Value | undefined;
    if (known !== undefined) return Promise.resolve(known);
    let loader = this.loaders.get(name) as DataLoader<number, Value> | undefined;
    if (loader === undefined) {
      // What is wrong with a question may be found before anything is read: those who asked are told.
      loader = new DataLoader<number, Value>(async (keys) => read(keys, this.reader));
      this.loaders.set(name, loader);
    }
    return loader.load(key);
  }

  /** Notes what belongs to a key, where it has been read already. */
  note(name: string, key: number, value: unknown): void {
    this.known.set(`${name} ${key}`, value);
  }
}
