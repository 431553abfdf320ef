// Preloaded by a process: when it ends, it says which files it has loaded as CommonJS, which all of OpenTelemetry's are.
process.on('exit', () => {
  require('node:fs').writeFileSync(process.env.LOADED_MODULES, Object.keys(require.cache).join('\n'));
});
