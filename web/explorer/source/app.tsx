import { GraphiQL } from 'graphiql';
import { Bar } from './bar.js';
import { ask } from './ask.js';
import { Beside } from './beside.js';
import { EXAMPLES } from './examples.js';
import { settings } from './settings.js';

export function App() {
  return (
    <>
      <Bar />
      {settings.introspection ? null : (
        <p className="notice">
          This service does not describe its schema, so nothing is completed or checked while you type, and
          there is no documentation here: <code>schema.graphql</code> of the project has every field.
        </p>
      )}
      <main>
        <GraphiQL
          fetcher={ask}
          // Null: the schema is not asked for.
          {...(settings.introspection ? {} : { schema: null })}
          defaultTabs={EXAMPLES.map(({ query, variables = null }) => ({ query, variables, headers: null }))}
          // Questions may name people: they go when the tab is closed. Headers have the token, and are written by us.
          storage={sessionStorage}
          isHeadersEditorEnabled={false}
          shouldPersistHeaders={false}
          showPersistHeadersSettings={false}
        >
          <GraphiQL.Logo>
            <span />
          </GraphiQL.Logo>
          <GraphiQL.Footer>
            <Beside />
          </GraphiQL.Footer>
        </GraphiQL>
      </main>
    </>
  );
}
