import { GraphiQL } from 'graphiql';
import { SessionBar } from './session-bar.js';
import { runOperation } from './run-operation.js';
import { ResponseDetails } from './response-details.js';
import { examplesFor } from './examples.js';
import { type LinkedOperation, parseLinkedOperation } from './linked-operation.js';
import { signOuts } from './session.js';
import { settings } from './settings.js';
import { useStore } from './store.js';

const linked = takeLinkedOperation();

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
          defaultTabs={[...(linked === null ? [] : [linked]), ...examplesFor(settings)].map(
            ({ query, variables = null }) => ({ query, variables, headers: null }),
          )}
          // Opens a tab beside those of the storage.
          {...(linked === null
            ? {}
            : { initialQuery: linked.query, initialVariables: linked.variables ?? '' })}
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

/** Takes the operation out of the address, which the history of the browser keeps. It is shown, and not executed. */
function takeLinkedOperation(): LinkedOperation | null {
  const operation = parseLinkedOperation(location.hash);
  if (operation !== null) history.replaceState(null, '', location.pathname + location.search);
  return operation;
}
