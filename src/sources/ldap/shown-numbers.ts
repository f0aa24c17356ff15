import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import type { ChangeNumbers } from './change-numbers.js';
import { findNumbers } from './follow-mode.js';
import { numbersOf } from './known-numbers.js';
import type { LdapDirectory } from './ldap-directory.js';
import { type NumberedState, withKnownNumbers } from './numbered-state.js';
import type { Position } from './position.js';

/** The numbers in the positions of a server that is not followed by them: they show whether the next server lags. */
export class ShownNumbers {
  private constructor(
    private readonly numbers: ChangeNumbers | null,
    private known: NumberedState | null,
  ) {}

  /** @param position the last position of the mirror */
  static async of(
    directory: LdapDirectory,
    connection: LdapConnection,
    position: Position | null,
  ): Promise<ShownNumbers> {
    return new ShownNumbers(await findNumbers(directory, connection), numbersOf(position));
  }

  /**
   * Reads them. After changes, they are at least those that another server must have.
   * @returns the part of the position that has them
   * @throws {LdapError}
   */
  async read(): Promise<Pick<Position, 'numbers'>> {
    const shown = (await this.numbers?.readShown()) ?? null;
    if (shown !== null) this.known = withKnownNumbers(shown, this.known);
    return this.latest;
  }

  /** The same part, as it was read last. */
  get latest(): Pick<Position, 'numbers'> {
    return this.known === null ? {} : { numbers: this.known };
  }
}
