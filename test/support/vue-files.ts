import { compileScript, parse } from 'vue/compiler-sfc';

/** Compiles a component in one file (`<script setup>` and `<template>`) to a module, as Vite's plugin does. */
export function compileVue(name: string, source: string): string {
  const { descriptor, errors } = parse(source, { filename: name });
  if (errors.length > 0) throw errors[0]!;
  return compileScript(descriptor, { id: name, inlineTemplate: true }).content;
}
