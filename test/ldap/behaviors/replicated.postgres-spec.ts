import { modelSetting } from '../../support/builders/model-file.js';
import { MIRROR_DN, MIRROR_PASSWORD, SUFFIX } from '../../support/servers/slapd.mjs';
import { describeBehaviors } from './behaviors.js';
import { DISABLING_MODEL, openldapVocabulary } from './openldap-vocabulary.js';
import { ReplicatedServer } from './replicated-server.js';

describe.each([
  ['Two OpenLDAP providers behind a TCP balancer', 'provider'],
  ['An OpenLDAP consumer, whose provider is changed', 'consumer'],
] as const)('%s', (_, second) => {
  describeBehaviors(async () => {
    const server = await ReplicatedServer.start(second);
    return {
      server,
      vocabulary: openldapVocabulary,
      showsLag: true,
      lag: { of: 'running', prepare: () => server.lag() },
      settings: {
        DIRECTORY_URL: server.balancer.url,
        DIRECTORY_BASE_DN: SUFFIX,
        DIRECTORY_BIND_DN: MIRROR_DN,
        DIRECTORY_BIND_PASSWORD: MIRROR_PASSWORD,
        ...modelSetting(DISABLING_MODEL),
      },
    };
  });
});
