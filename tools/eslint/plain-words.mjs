/**
 * Words that comments, texts and identifiers do not use, because each has a standard term. `floor(` is a function of SQL.
 */
const WORDS =
  'whoever|whatever|somebody|nobody|everybody|anew|tells?|told|mend(?:s|ed|ing)?|spelt|doings|altogether|houses?|rooms?|floors?(?!\\()';
const TEXT = new RegExp(`\\b(?:${WORDS})\\b`, 'gi');
const IDENTIFIER = new RegExp(`^(?:${WORDS})$`, 'i');
const TEST = /^(?:describe|it|test)\b/;

/**
 * Returns the first word of the list in a text, or null.
 * @param isIdentifier a word of an identifier begins with a capital or after `_`
 * @param allowed words that are accepted, in lower case
 */
export function findWord(text, isIdentifier = false, allowed = []) {
  const words = isIdentifier
    ? text
        .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
        .split('_')
        .filter((part) => IDENTIFIER.test(part))
    : (text.match(TEXT) ?? []);
  return words.find((word) => !allowed.includes(word.toLowerCase())) ?? null;
}

export const plainWords = {
  meta: {
    type: 'suggestion',
    schema: [
      {
        type: 'object',
        properties: { sampleWords: { type: 'array', items: { type: 'string' } } },
        additionalProperties: false,
      },
    ],
    messages: { word: '«{{word}}» is not a standard term: use plain technical English' },
  },
  create(context) {
    // Sample data contain these words, in strings and names of fields. Comments and titles of tests do not.
    const [{ sampleWords = [] } = {}] = context.options;
    const check = (node, text, isIdentifier, allowed) => {
      const word = findWord(text, isIdentifier, allowed);
      if (word !== null) context.report({ node, messageId: 'word', data: { word } });
    };
    const isTitle = (node) =>
      node.parent.type === 'CallExpression' &&
      node.parent.arguments[0] === node &&
      TEST.test(context.sourceCode.getText(node.parent.callee));
    const allowedIn = (node) => (isTitle(node) ? [] : sampleWords);
    // `Math.floor` is the only use of a name of the list: properties of others are not declared here.
    const isForeign = ({ parent }) => parent.type === 'MemberExpression' && parent.object.name === 'Math';
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) check(comment, comment.value, false);
      },
      Literal(node) {
        if (typeof node.value === 'string') check(node, node.value, false, allowedIn(node));
      },
      TemplateElement(node) {
        check(node, node.value.raw, false, allowedIn(node.parent));
      },
      JSXText(node) {
        check(node, node.value, false);
      },
      Identifier(node) {
        if (!isForeign(node)) check(node, node.name, true, sampleWords);
      },
    };
  },
};
