import DataLoader from 'dataloader';
import type { Reader } from '../../database/statements/reader.js';

/**
 * Batches the reads of the resolvers of one level, so that each level of an operation costs one statement for
 * any number of objects.
 */
export class Batches {
  private readonly loaders = new Map<string, DataLoader<number, unknown>>();

  /** @param reader source of all reads */
  constructor(private readonly reader: Reader) {}

  /**
   * Loads the value of a key, batched with all calls of the same turn that have the same name.
   * @param name identifies the read, including all its arguments
   * @param read returns the values of many keys from `reader`, in the order of the keys
   */
  load<Value>(
    name: string,
    key: number,
    read: (keys: readonly number[], reader: Reader) => Promise<Value[]>,
  ): Promise<Value> {
    let loader = this.loaders.get(name) as DataLoader<number, Value> | undefined;
    if (loader === undefined) {
      // An async function, so that an error thrown before the read rejects the promises of the callers.
      loader = new DataLoader<number, Value>(async (keys) => read(keys, this.reader));
      this.loaders.set(name, loader);
    }
    return loader.load(key);
  }
}
