// redlock.js PORT...: node-redlock with one server or several, told what to do.
// run.sh has the language.
const { default: Redlock } = require("redlock");
const Redis = require("ioredis");
const readline = require("readline");

const servers = process.argv.slice(2).map((port) => new Redis(Number(port)));
const server = servers[0];
const redlock = new Redlock(servers, { retryCount: 600, retryDelay: 100 });
const held = new Map();

servers.forEach((each) => each.on("error", () => {})); // one that is down
redlock.on("error", () => {}); // of each attempt

async function acquire(name, lease_ms = 30000, settings = {}) {
    try {
        held.set(name, await redlock.acquire([name], Number(lease_ms), settings));
        return true;
    } catch (error) {
        return false;
    }
}

async function release(name) {
    const lock = held.get(name);

    held.delete(name);
    try {
        await redlock.release(lock, { retryCount: 0 });
        return "ok";
    } catch (error) {
        return "refused";
    }
}

async function count(name, key, times) {
    for (let i = 0; i < Number(times); i++) {
        await acquire(name);
        const seen = Number(await server.get(key));

        await new Promise((done) => setTimeout(done, 1));
        await server.set(key, seen + 1);
        await release(name);
    }
    return "ok";
}

const verbs = {
    try: async (name) => String(await acquire(name, 30000, { retryCount: 0 })),
    acquire: async (...args) => (await acquire(...args)) ? "ok" : "timeout",
    release,
    count,
};

async function main() {
    console.log("ready");
    for await (const line of readline.createInterface({ input: process.stdin })) {
        const [thread, verb, ...args] = line.split(" ");

        console.log(thread, await verbs[verb](...args));
    }
    servers.forEach((each) => each.disconnect());
}

main();
