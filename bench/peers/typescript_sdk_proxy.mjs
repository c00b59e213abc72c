// A proxy on the TypeScript ACP SDK that changes nothing: `node typescript_sdk_proxy.mjs AGENT [ARGUMENT]...`.
// Typed on both sides, as the SDK's guides have it.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { agent, client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const [program, ...words] = process.argv.slice(2);
const child = spawn(program, words, { stdio: ["pipe", "pipe", "inherit"] });
const stream = (output, input) => ndJsonStream(Writable.toWeb(output), Readable.toWeb(input));

let above, below;
const upstream = agent({ name: "pass" });
const downstream = client({ name: "pass" });

for (const method of [methods.agent.initialize, methods.agent.session.new, methods.agent.session.prompt])
  upstream.onRequest(method, ({ params }) => below.request(method, params));
upstream.onNotification(methods.agent.session.cancel, ({ params }) => below.notify(methods.agent.session.cancel, params));

for (const method of [methods.client.session.requestPermission, methods.client.fs.readTextFile])
  downstream.onRequest(method, ({ params }) => above.request(method, params));
downstream.onNotification(methods.client.session.update, ({ params }) => above.notify(methods.client.session.update, params));

const toAgent = downstream.connect(stream(child.stdin, child.stdout));
below = toAgent.agent;
const toClient = upstream.connect(stream(process.stdout, process.stdin));
above = toClient.client;
await Promise.race([toAgent.closed, toClient.closed]);
child.kill();
process.exit();
