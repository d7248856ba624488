// The torture's client in JavaScript: node-redlock with one server or several. The
// protocol is in README.md beside this file.
const { default: Redlock } = require("redlock");
const Redis = require("ioredis");
const fs = require("fs");
const readline = require("readline");

const STEP_MS = 10;
const REQUEST_MS = 1000;
const DUE_US = 4000000;
const RETRY_MS = 200;
const RETRIES = 6;
// redlock promises a number of tries, not a time: each may wait for a reply.
const MOST_US = (RETRIES + 1) * (REQUEST_MS + 1.5 * RETRY_MS) * 1000;

// The machine's clock in microseconds: Date.now() has milliseconds.
const nowUs = () => Math.round((performance.timeOrigin + performance.now()) * 1000);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const say = (line) => fs.writeSync(1, line + "\n");

let stopping = false;

function dice(seed) {
    let state = BigInt(seed) | 1n;

    return () => {
        state ^= (state << 13n) & 0xffffffffffffffffn;
        state ^= state >> 7n;
        state ^= (state << 17n) & 0xffffffffffffffffn;
        return Number(state >> 11n) / 2 ** 53;
    };
}

function connect(url) {
    const options = { commandTimeout: REQUEST_MS, connectTimeout: REQUEST_MS };
    const ports = url.startsWith("sentinel:") && url.split(":")[1].split(",");
    const client = ports
        ? new Redis({ ...options, name: "mymaster",
            sentinels: ports.map((port) => ({ host: "127.0.0.1", port: Number(port) })) })
        : new Redis(Number(url), options);

    client.on("error", () => {}); // a server that is down
    return client;
}

// Values of one client begin with its source.
class Named extends Redlock {
    _random() {
        return this.source + ":" + super._random();
    }
}

class Row {
    constructor(row, kind, source, seed, leaseMs, _, ...urls) {
        Object.assign(this, { row, source, leaseMs: Number(leaseMs), calls: 0 });
        this.random = dice(seed);
        this.clients = urls.map(connect);
        this.redlock = new Named(this.clients, {
            retryDelay: RETRY_MS, retryJitter: RETRY_MS / 2,
            retryCount: RETRIES,
        });
        this.redlock.source = source;
        this.redlock.on("error", () => {}); // of each attempt
    }

    say(event) {
        say(`${this.row} ${nowUs()} ${this.source} ${event}`);
    }

    async call(op, action, extra = "") {
        const call = ++this.calls;
        const due = Math.round(nowUs() + MOST_US + DUE_US);
        let result = null, status = "OK";

        this.say(`ask call=${call} op=${op} lock=${this.row} kind=plain owner=${
            this.source}${extra} due=${due}`);
        try {
            result = await action();
        } catch (error) {
            status = error.constructor.name;
        }
        this.say(`end call=${call} status=${status}`);
        return result;
    }

    believe(until) {
        this.say(`safe lock=${this.row} kind=plain owner=${this.source} until=${until}`);
    }

    async hold(lock) {
        const most = this.random() < 0.25 ? this.leaseMs * 1500 : 300000;
        const until = lock.expiration * 1000;
        const end = Math.min(until, nowUs() + 20000 + this.random() * most);

        this.believe(until);
        while (nowUs() < end) await sleep(STEP_MS);
        this.believe(0);
        await this.call("release", () => lock.release());
    }

    async run() {
        while (!stopping) {
            const lock = await this.call("acquire",
                () => this.redlock.acquire([this.row], this.leaseMs),
                ` lease=${this.leaseMs}`);

            if (lock) await this.hold(lock);
            await sleep(5 + this.random() * 50);
        }
    }
}

async function main() {
    let rows = [], running = [];

    for await (const line of readline.createInterface({ input: process.stdin })) {
        const [verb, ...args] = line.split(" ");

        if (verb === "run") {
            const row = new Row(...args);

            stopping = false;
            rows.push(row);
            say(`${row.row} own ${row.source}: ${row.source}`);
            running.push(row.run());
            say(`${row.row} ready`);
        } else if (verb === "stop") {
            stopping = true;
            await Promise.all(running);
            say("- idle");
        } else if (verb === "close") {
            rows.forEach((row) => row.clients.forEach((each) => each.disconnect()));
            rows = [];
            running = [];
            say("- done");
        }
    }
    process.exit(0);
}

main();
