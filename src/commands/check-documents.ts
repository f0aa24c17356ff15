import { type Finding, ok, problem } from '../common/finding.js';
import { type Config, ConfigError } from '../config/config.js';
import { findDocumentErrors } from '../graphql/analysis/document-rules.js';
import { TrustedDocuments } from '../graphql/http/persisted-documents.js';
import { buildServedSchema } from '../schema.js';

/** Validates the documents of TRUSTED_DOCUMENTS, as a start does. */
export async function checkDocuments(config: Config): Promise<Finding[]> {
  const what = 'trusted documents';
  const schema = await buildServedSchema(config);
  try {
    await new TrustedDocuments(config).check((text) => findDocumentErrors(schema, text, config));
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map((each) => problem(what, each));
    throw error;
  }
  return [ok(what, String(config.trustedDocuments?.documents.size))];
}
