#!/usr/bin/env node
// SPDX-License-Identifier: MIT
// smallweb as a co-process: one process that fetches whatever a program asks for while it runs.
//
// usage: client.mjs URL…
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

/** A running `smallweb get --json -`. */
export class Smallweb {
  #process;
  #pending = new Map();
  #count = 0;
  #end = null;
  #ended;

  constructor(...options) {
    // -s: failures are in the records. A pipe for stderr would have to be read as well.
    this.#process = spawn("smallweb", ["get", "--json", "-s", ...options, "-"], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    createInterface({ input: this.#process.stdout }).on("line", (line) => this.#take(line));
    // It may end before it has read everything; "close" says how.
    this.#process.stdin.on("error", () => {});
    this.#ended = new Promise((resolve) => {
      this.#process.on("error", (error) => resolve(error));
      // The exit status of a run is that of its first failing URL, so it is an error only if
      // something is still pending.
      this.#process.on("close", (status, signal) =>
        resolve(new Error(`smallweb ended with ${signal ?? `status ${status}`}`)),
      );
    }).then((error) => {
      this.#end = error;
      for (const { reject } of this.#pending.values()) reject(error);
      this.#pending.clear();
    });
  }

  /**
   * Asks for a URL; `members` go into the request, as { data: "words" } or { max_time: 10 }.
   *
   * Resolves to the record, of type `response` or `error`; rejects when smallweb ends before.
   */
  fetch(url, members = {}) {
    return new Promise((resolve, reject) => {
      if (this.#end) return reject(this.#end);
      const id = this.#count++;
      this.#pending.set(id, { resolve, reject });
      // What does not fit into the pipe waits in memory, while replies are read.
      this.#process.stdin.write(JSON.stringify({ ...members, url, id }) + "\n");
    });
  }

  /** Waits for the replies that are still to come, and for the end of the process. */
  async close() {
    this.#process.stdin.end();
    await this.#ended;
  }

  #take(line) {
    let record;
    try {
      record = JSON.parse(line);
    } catch {
      return; // It was killed in the middle of a line.
    }
    // Ignore the summary and types that are yet to come.
    if (record.type !== "response" && record.type !== "error") return;
    this.#pending.get(record.id)?.resolve(record);
    this.#pending.delete(record.id);
  }
}

/** The body of a record as a Buffer, whatever form it has; null without one. */
export async function body(record) {
  const form = record.body ?? {};
  if ("text" in form) return Buffer.from(form.text);
  if ("base64" in form) return Buffer.from(form.base64, "base64");
  if ("path" in form) return readFile(form.path);
  return null;
}

async function main(urls) {
  const directory = await mkdtemp(join(tmpdir(), "client-"));
  // Bodies beyond 64 KiB go into files.
  const web = new Smallweb("-j", "8", "--inline-max", "64K", "--output-dir", directory);
  try {
    for (const record of await Promise.all(urls.map((url) => web.fetch(url)))) {
      const content = await body(record);
      console.log([record.outcome, content?.length ?? "-", record.url].join("\t"));
    }
  } finally {
    await web.close();
    await rm(directory, { recursive: true });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  main(process.argv.slice(2)).catch((error) => {
    console.error(`client.mjs: ${error.message}`);
    process.exitCode = 1;
  });
}
