// JavaScript, because the types of highlight.js declare those of browsers for the whole project.
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import graphql from 'highlight.js/lib/languages/graphql';
import json from 'highlight.js/lib/languages/json';

hljs.registerLanguage('bash', bash);
hljs.registerLanguage('graphql', graphql);
hljs.registerLanguage('json', json);

/** HTML of the text, with colors. Null: the language is unknown. */
export function highlight(text, language) {
  return hljs.getLanguage(language) === undefined ? null : hljs.highlight(text, { language }).value;
}
