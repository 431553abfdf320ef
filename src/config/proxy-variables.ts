// Those that axios reads: https_proxy for https addresses, and so on; each in lower or upper case.
const VARIABLES = ['http_proxy', 'https_proxy', 'all_proxy'];

/** Whether a variable of the environment names a proxy for requests to other machines; what NO_PROXY says is not looked at. */
export function namesProxy(): boolean {
  return VARIABLES.some((name) => process.env[name] || process.env[name.toUpperCase()]);
}
