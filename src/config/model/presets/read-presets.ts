import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { attribute, MODEL } from '../model.schema.js';
import { PRESET_NAMES, type PresetName } from './presets.js';

// presets.yaml says what the keys mean.

const COUNTER = z.strictObject({
  changed: attribute,
  latest: attribute,
  databases: attribute.nullable().default(null),
  deleted: z.strictObject({ filter: z.string(), control: z.string().nullable().default(null) }),
  notification: z.string().nullable().default(null),
});

export type ChangeCounter = z.output<typeof COUNTER>;

const OF_ENTRIES = { base: true, filter: true, id: true, name: true, fields: true } as const;
const OF_GROUPS = { ...OF_ENTRIES, members: true, admins: true, owners: true, classes: true } as const;

const PRESET = z.strictObject({
  recognition: z
    .record(
      attribute,
      z.string().transform((form) => new RegExp(form, 'i')),
    )
    .optional(),
  syncsContent: z.boolean().default(false),
  hasAssertions: z.literal(true).optional(),
  limits: z.string().optional(),
  counter: COUNTER.nullable().default(null),
  mayBeEmpty: z.literal(true).optional(),
  singleValued: attribute.optional(),
  namingAttribute: attribute.optional(),
  ...MODEL.pick({ uuid: true, createdAt: true, modifiedAt: true }).required().shape,
  users: MODEL.shape.users.unwrap().required(OF_ENTRIES),
  groups: MODEL.shape.groups.unwrap().required(OF_GROUPS),
});

type Written = Partial<Record<string, { like?: string; users?: object; groups?: object }>>;

const WRITTEN = parse(readFileSync(new URL('presets.yaml', import.meta.url), 'utf8')) as Written;

function presetOf(name: string): z.input<typeof PRESET> {
  const { like = 'common', ...own } = WRITTEN[name] ?? {};
  if (name === 'common') return own as z.input<typeof PRESET>;
  const { users, groups, ...rest } = presetOf(like);
  return { ...rest, ...own, users: { ...users, ...own.users }, groups: { ...groups, ...own.groups } };
}

export const PRESETS = Object.fromEntries(
  PRESET_NAMES.map((name) => [name, PRESET.parse(presetOf(name))]),
) as Readonly<Record<PresetName, z.output<typeof PRESET>>>;
