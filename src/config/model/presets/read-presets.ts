import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { PRESETS_FILE } from '../../paths.js';
import { attribute, MODEL } from '../model.schema.js';
import { PRESET_NAMES, type PresetName } from './presets.js';

/** A number that grows with each change of a server. */
const COUNTER = z.strictObject({
  /** Attribute of an entry: the number of its last change. */
  changed: attribute,
  /** Attribute of the root DSE: the latest number. With an option for each database, the server counts each of them. */
  latest: attribute,
  /** Attribute of the root DSE: `name:suffix` of each database, whose names are the options of `latest`. */
  databases: attribute.nullable().default(null),
  /** The search for deleted entries: its filter, and the OID of a control without a value. */
  deleted: z.strictObject({ filter: z.string(), control: z.string().nullable().default(null) }),
  /** OID of the control of a search that reports that something has changed. */
  notification: z.string().nullable().default(null),
});

export type ChangeCounter = z.output<typeof COUNTER>;

const OF_ENTRIES = { base: true, filter: true, id: true, name: true, fields: true } as const;

/** One kind of server: how it is recognized and followed, and the defaults of the model. */
const PRESET = z.strictObject({
  /**
   * How the kind is recognized by the root DSE (RFC 4512 §5.1): of each attribute, one value matches. Absent: by nothing, so
   * that only the key `server` of the model file selects it.
   */
  recognition: z
    .record(
      attribute,
      z.string().transform((form) => new RegExp(form, 'i')),
    )
    .optional(),
  /** Whether content synchronization (RFC 4533) is complete. If not, it is used only with `follow: push` in the model file. */
  pushesChanges: z.boolean().default(false),
  /** Whether a change can depend on an assertion (RFC 4528). If not, the server rejects the critical control. */
  hasAssertions: z.literal(true).optional(),
  /** What to set where the server limits what the account may read. Absent: the cure is that for OpenLDAP. */
  limits: z.string().optional(),
  /** How the server numbers changes. Null: it does not. */
  counter: COUNTER.nullable().default(null),
  ...MODEL.pick({ uuid: true, createdAt: true, modifiedAt: true }).required().shape,
  users: MODEL.shape.users.unwrap().required(OF_ENTRIES),
  groups: MODEL.shape.groups
    .unwrap()
    .required({ ...OF_ENTRIES, members: true, admins: true, owners: true, classes: true }),
  /** Whether groups of every class can be empty. Absent: RFC 4519 applies. */
  mayBeEmpty: z.literal(true).optional(),
  /** The attribute of a role that has at most one value. */
  singleValued: attribute.optional(),
  /** Attribute in the relative DN of a new group. Absent: that of the id. */
  namingAttribute: attribute.optional(),
});

type Written = Partial<Record<string, { like?: string; users?: object; groups?: object }>>;

const WRITTEN = parse(readFileSync(PRESETS_FILE, 'utf8')) as Written;

function presetOf(name: string): z.input<typeof PRESET> {
  const { like = 'common', ...own } = WRITTEN[name] ?? {};
  if (name === 'common') return own as z.input<typeof PRESET>;
  const { users, groups, ...rest } = presetOf(like);
  return { ...rest, ...own, users: { ...users, ...own.users }, groups: { ...groups, ...own.groups } };
}

export const PRESETS = Object.fromEntries(
  PRESET_NAMES.map((name) => [name, PRESET.parse(presetOf(name))]),
) as Readonly<Record<PresetName, z.output<typeof PRESET>>>;
