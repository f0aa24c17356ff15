import { GraphiQL } from 'graphiql';
import { PageHeader } from './page-header.js';
import { runOperation } from './run-operation.js';
import { ResponseDetails } from './response-details.js';
import { examplesFor } from './examples.js';
import { settings } from './settings.js';

export function App() {
  return (
    <>
      <PageHeader />
      {settings.introspection ? null : (
        <p className="notice">
          This service does not describe its schema: completion, validation and documentation are not
          available here. <code>schema.graphql</code> of the project lists every field.
        </p>
      )}
      <main>
        <GraphiQL
          fetcher={runOperation}
          // Null disables the introspection query.
          {...(settings.introspection ? {} : { schema: null })}
          defaultTabs={examplesFor(settings).map(({ query, variables = null }) => ({
            query,
            variables,
            headers: null,
          }))}
          // Queries may contain names of people, so they are deleted with the tab. The token is set by the fetcher.
          storage={sessionStorage}
          isHeadersEditorEnabled={false}
          shouldPersistHeaders={false}
          showPersistHeadersSettings={false}
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
