// Ends under a Node.js that is too old, with one sentence. Every entry loads it first. Node.js 12 parses it.
'use strict';

var least = /\d+\.\d+/.exec(require('../package.json').engines.node)[0];
var wanted = least.split('.').map(Number);
var present = process.versions.node.split('.').map(Number);

if (present[0] < wanted[0] || (present[0] === wanted[0] && present[1] < wanted[1])) {
  console.error('Node.js ' + least + ' or later is required, this is ' + process.versions.node);
  process.exit(1);
}
