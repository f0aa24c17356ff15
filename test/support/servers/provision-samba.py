"""Creates the databases of a domain controller: provision-samba.py SMB_CONF PASSWORD_OF_THE_ADMINISTRATOR

`samba-tool domain provision` does the same, but also sets the access rights of the files that Windows clients read,
which needs root.
"""
import logging
import sys

from samba.auth import system_session
from samba.dsdb import DS_DOMAIN_FUNCTION_2008_R2
from samba.param import LoadParm
from samba.provision import provision

configuration, password = sys.argv[1:]
settings = LoadParm()
settings.load(configuration)
provision(
    logging.getLogger(),
    system_session(),
    smbconf=configuration,
    lp=settings,
    realm=settings.get('realm'),
    domain=settings.get('workgroup'),
    hostname=settings.get('netbios name'),
    hostip='127.0.0.1',
    adminpass=password,
    serverrole='active directory domain controller',
    dom_for_fun_level=DS_DOMAIN_FUNCTION_2008_R2,
    dns_backend='NONE',
)
