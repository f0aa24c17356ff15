/** What distinguishes a kind of server, besides the names of its attributes. */
export interface ServerTraits {
  /**
   * How the kind is recognized by the root DSE (RFC 4512 §5.1): of each attribute, one value matches. Null: by nothing, so that
   * only the key `server` of the model file selects it.
   */
  readonly recognition: Readonly<Record<string, RegExp>> | null;
  /** Whether content synchronization (RFC 4533) is complete. If not, it is used only with `follow: push` in the model file. */
  readonly pushesChanges: boolean;
  /** Whether a change can depend on an assertion (RFC 4528). Default: the server rejects the critical control. */
  readonly hasAssertions?: true;
  /** What to set where the server limits what the account may read. Null: the cure is that for OpenLDAP. */
  readonly limits: string | null;
  /** How the server numbers changes. Null: it does not. */
  readonly counter: ChangeCounter | null;
}

/** A number that grows with each change of a server. */
export interface ChangeCounter {
  /** Attribute of an entry: the number of its last change. */
  readonly changed: string;
  /** Attribute of the root DSE: the latest number. With an option for each database, the server counts each of them. */
  readonly latest: string;
  /** Attribute of the root DSE: `name:suffix` of each database, whose names are the options of `latest`. Null: there is none. */
  readonly databases: string | null;
  /** The search for deleted entries: its filter, and the OID of a control without a value. */
  readonly deleted: { readonly filter: string; readonly control: string | null };
  /** OID of the control of a search that reports that something has changed. Null: there is none. */
  readonly notification: string | null;
}
