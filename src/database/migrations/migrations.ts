import { Mirror1763683200000 } from './0001-mirror.js';
import { ServiceAccounts1763683200001 } from './0002-service-accounts.js';
import { References1763683200002 } from './0003-references.js';
import { Changes1763683200003 } from './0004-changes.js';
import { ReadModel1763683200004 } from './0005-read-model.js';
import { AccessLog1763683200005 } from './0006-access-log.js';
import { RevisionIds1763683200006 } from './0007-revision-ids.js';
import { LeaderLease1763683200007 } from './0008-leader-lease.js';
import { Reconciliation1763683200008 } from './0009-reconciliation.js';
import { FieldValues1763683200009 } from './0010-field-values.js';
import { Restores1763683200010 } from './0011-restores.js';
import { Visibility1763683200011 } from './0012-visibility.js';
import { FieldReferences1763683200012 } from './0013-field-references.js';
import { Identity1763683200013 } from './0014-identity.js';
import { CarriedValues1763683200014 } from './0015-carried-values.js';
import { ChangedObjects1763683200015 } from './0016-changed-objects.js';
import { CursorKey1763683200016 } from './0017-cursor-key.js';
import { Webhooks1763683200017 } from './0018-webhooks.js';
import { FreeSpace1763683200018 } from './0019-free-space.js';
import { RecordDigests1763683200019 } from './0020-record-digests.js';
import { ComparedValues1763683200020 } from './0021-compared-values.js';
import { ListOrders1763683200021 } from './0022-list-orders.js';

/** All migrations, in their order. */
export const MIGRATIONS = [
  Mirror1763683200000,
  ServiceAccounts1763683200001,
  References1763683200002,
  Changes1763683200003,
  ReadModel1763683200004,
  AccessLog1763683200005,
  RevisionIds1763683200006,
  LeaderLease1763683200007,
  Reconciliation1763683200008,
  FieldValues1763683200009,
  Restores1763683200010,
  Visibility1763683200011,
  FieldReferences1763683200012,
  Identity1763683200013,
  CarriedValues1763683200014,
  ChangedObjects1763683200015,
  CursorKey1763683200016,
  Webhooks1763683200017,
  FreeSpace1763683200018,
  RecordDigests1763683200019,
  ComparedValues1763683200020,
  ListOrders1763683200021,
];
