// Loaded before a service (node --import). Its follower inherits the options of Node, and is not watched.
if (process.argv[1].endsWith('/main.js')) await import('./watch-main.mjs');
