#!/usr/bin/env node
import { runCommand } from './command.js';

process.exitCode = await runCommand('latchkey-check-provider', process.argv.slice(2));
