import { GraphiQL } from 'graphiql';
import { SessionBar } from './session-bar.js';
import { runOperation } from './run-operation.js';
import { ResponseDetails } from './response-details.js';
import { EXAMPLES } from './examples.js';
import { signOuts } from './session.js';
import { settings } from './settings.js';
import { useStore } from './store.js';

export function App() {
  const signedOut = useStore(signOuts);
  return (
    <>
      <SessionBar />
      {settings.introspection ? null : (
        <p className="notice">
          This service does not describe its schema: completion, validation and documentation are not
          available here. <code>schema.graphql</code> of the project lists every field.
        </p>
      )}
      <main>
        <GraphiQL
          // The tabs keep their responses in memory, which may contain personal data. The operations are in the storage.
          key={signedOut}
          fetcher={runOperation}
          // Null disables the introspection query.
          {...(settings.introspection ? {} : { schema: null })}
          defaultTabs={EXAMPLES.map(({ query, variables = null }) => ({ query, variables, headers: null }))}
          // Queries may contain names of people, so they are deleted with the tab. The token is set by the fetcher.
          storage={sessionStorage}
          isHeadersEditorEnabled={false}
          shouldPersistHeaders={false}
          showPersistHeadersSettings={false}
          // The rest of the page follows the system, too.
          forcedTheme="system"
        >
          <GraphiQL.Logo>
            <span />
          </GraphiQL.Logo>
          <GraphiQL.Footer>
            <ResponseDetails />
          </GraphiQL.Footer>
        </GraphiQL>
      </main>
    </>
  );
}
