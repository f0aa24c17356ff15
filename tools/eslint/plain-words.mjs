/** Words that comments, texts and identifiers do not use, because each has a standard term. */
const WORDS = 'whoever|whatever|somebody|nobody|everybody|anew|told|houses?|rooms?|floors?';
const TEXT = new RegExp(`\\b(?:${WORDS})\\b`, 'i');
const IDENTIFIER = new RegExp(`^(?:${WORDS})$`, 'i');

/** Returns the first word of the list in a text, or null. A word of an identifier begins with a capital or after `_`. */
export function findWord(text, isIdentifier = false) {
  if (!isIdentifier) return TEXT.exec(text)?.[0] ?? null;
  const parts = text.replace(/([a-z0-9])([A-Z])/g, '$1_$2').split('_');
  return parts.find((part) => IDENTIFIER.test(part)) ?? null;
}

export const plainWords = {
  meta: {
    type: 'suggestion',
    schema: [],
    messages: { word: '«{{word}}» is not a standard term: use plain technical English' },
  },
  create(context) {
    const check = (node, text, isIdentifier) => {
      const word = findWord(text, isIdentifier);
      if (word !== null) context.report({ node, messageId: 'word', data: { word } });
    };
    // `Math.floor` is the only use of a name of the list: properties of others are not declared here.
    const isForeign = ({ parent }) => parent.type === 'MemberExpression' && parent.object.name === 'Math';
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) check(comment, comment.value, false);
      },
      Literal(node) {
        if (typeof node.value === 'string') check(node, node.value, false);
      },
      TemplateElement(node) {
        check(node, node.value.raw, false);
      },
      Identifier(node) {
        if (!isForeign(node)) check(node, node.name, true);
      },
    };
  },
};
