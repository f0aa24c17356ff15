"""Makes the copy of a domain controller another one: replicate-samba.py SMB_CONF INVOCATION_ID

As after a complete replication, the copy has all changes of the copied controller, and records the number of the latest one.
"""
import sys

import ldb
from samba.auth import system_session
from samba.dcerpc import drsblobs, misc
from samba.dsdb import _dsdb_load_udv_v2
from samba.ndr import ndr_pack
from samba.param import LoadParm
from samba.samdb import SamDB

configuration, invocation_id = sys.argv[1:]
settings = LoadParm()
settings.load(configuration)
database = SamDB(session_info=system_session(), lp=settings)


def replace(dn, attribute, value):
    message = ldb.Message(dn)
    message[attribute] = ldb.MessageElement(value, ldb.FLAG_MOD_REPLACE, attribute)
    database.modify(message, ['relax:0'])


cursors = _dsdb_load_udv_v2(database, database.domain_dn())
blob = drsblobs.replUpToDateVectorBlob()
blob.version = 2
blob.ctr.cursors = cursors
blob.ctr.count = len(cursors)
replace(ldb.Dn(database, database.domain_dn()), 'replUpToDateVector', ndr_pack(blob))
replace(ldb.Dn(database, database.get_dsServiceName()), 'invocationId', ndr_pack(misc.GUID(invocation_id)))
