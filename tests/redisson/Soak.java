import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RScript;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/**
 * A process of the soak that uses Redisson. What it does, says and is told is in
 * soak.h; soak_worker.c does the same with holdfast.
 *
 * <pre>
 *   java Soak URL CLIENT SHA SEED KIND=NAME...
 * </pre>
 */
public final class Soak implements Runnable {
    private static final int THREADS = 3;
    private static final long WATCHDOG_MS = 6000;
    private static final long LEASE_MS = 2000;
    private static final long SHORT_MS = 300;
    private static final long FAIR_WAIT_MS = 1600; /* as in soak.h */
    private static final TimeUnit MS = TimeUnit.MILLISECONDS;

    private static RedissonClient redisson;
    private static String client;
    private static String sha;
    private static String[] all;
    private static volatile boolean isOver;

    private final Random dice;
    private final Map<String, Long> avoided = new HashMap<>(); /* until when, ms */
    private final Map<String, Long> renewed = new HashMap<>(); /* last, ms */
    private long call;
    private String owner;

    /* What is under way. */
    private String kind;
    private String name;
    private long lease;             /* 0: the watchdog's */
    private long wait;              /* -1: for ever */
    private RLock lock;
    private String token;
    private String permit;

    private Soak(long seed, int thread) {
        dice = new Random(seed + thread);
        call = thread * 10000000L;
    }

    private void mark(String event, Object first, Object second) {
        redisson.getScript(StringCodec.INSTANCE).evalSha(RScript.Mode.READ_WRITE, sha,
                RScript.ReturnType.LONG, Collections.emptyList(), event, client,
                String.valueOf(call), kind, name, owner, String.valueOf(first),
                String.valueOf(second), owner);
    }

    /* ---- what is asked for ---- */

    private RLock lockOf() {
        switch (kind) {
        case "plain":
            return redisson.getLock(name);
        case "fair":
            return redisson.getFairLock(name);
        case "fenced":
            return redisson.getFencedLock(name);
        case "nonreentrant":
            return redisson.getNonReentrantLock(name);
        case "spin":
            return redisson.getSpinLock(name);
        case "read":
            return redisson.getReadWriteLock(name).readLock();
        case "write":
            return redisson.getReadWriteLock(name).writeLock();
        default:
            return null;
        }
    }

    private boolean acquireSemaphore() throws InterruptedException {
        RSemaphore semaphore = redisson.getSemaphore(name);
        if (wait < 0) {
            semaphore.acquire();
            return true;
        }
        return semaphore.tryAcquire(1, wait, MS);
    }

    private boolean acquirePermit() throws InterruptedException {
        RPermitExpirableSemaphore permits = redisson.getPermitExpirableSemaphore(name);
        permit = wait < 0 ? permits.acquire(lease, MS) : permits.tryAcquire(wait, lease, MS);
        return permit != null;
    }

    private boolean acquireFenced() {
        RFencedLock fenced = (RFencedLock) lock;
        Long number = wait < 0 ? fenced.lockAndGetToken()
                : fenced.tryLockAndGetToken(wait, lease == 0 ? -1 : lease, MS);
        token = String.valueOf(number);
        return number != null;
    }

    private boolean acquire() throws InterruptedException {
        token = "0";
        lock = lockOf();
        switch (kind) {
        case "semaphore":
            return acquireSemaphore();
        case "permit":
            return acquirePermit();
        case "fenced":
            return acquireFenced();
        default:
            if (wait >= 0) {
                return lock.tryLock(wait, lease == 0 ? -1 : lease, MS);
            }
            lock.lock(lease == 0 ? -1 : lease, MS);
            return true;
        }
    }

    /** "left", or "gone": it had ended before. */
    private String release() {
        switch (kind) {
        case "semaphore":
            redisson.getSemaphore(name).release();
            return "left";
        case "permit":
            return redisson.getPermitExpirableSemaphore(name).tryRelease(permit) ? "left" : "gone";
        default:
            try {
                lock.unlock();
                return "left";
            } catch (IllegalMonitorStateException lost) {
                return "gone";
            }
        }
    }

    /* ---- a turn ---- */

    private boolean isReentrant() {
        return lock != null && lease == 0 && !kind.equals("nonreentrant");
    }

    private void hold() {
        boolean enters = isReentrant() && dice.nextInt(5) == 0;
        if (enters) {
            lock.lock();
        }
        long us = lease == 0 && dice.nextInt(100) == 0 ? 2500000 : dice.nextInt(20000);
        LockSupport.parkNanos(us * 1000);
        if (enters) {
            lock.unlock();
        }
    }

    private static long nowMs() {
        return System.nanoTime() / 1000000;
    }

    /** A renewal that is under way when this thread releases renews what it takes next. */
    private boolean mayLeave() {
        return !kind.equals("semaphore")
                && nowMs() - renewed.getOrDefault(name, 0L) > LEASE_MS;
    }

    private void choose() {
        do {
            String[] pair = all[dice.nextInt(all.length)].split("=");
            kind = pair[0];
            name = pair[1];
        } while (avoided.getOrDefault(name, 0L) > nowMs());
        boolean isShort = mayLeave() && dice.nextInt(40) == 0;
        lease = kind.equals("semaphore") ? 0
                : isShort ? SHORT_MS
                : kind.equals("permit") || dice.nextInt(3) == 0 ? LEASE_MS : 0;
        int how = dice.nextInt(10);
        wait = how == 0 ? 0 : how < 6 ? 100 + dice.nextInt(1500) : -1;
        if (kind.equals("fair") && wait == 0) {
            wait = FAIR_WAIT_MS;
        }
        if (kind.equals("fenced") && wait < 0) {
            lease = 0; /* lockAndGetToken(lease) renews all the same. WIRE 10.2 */
        }
    }

    private void turn() throws InterruptedException {
        choose();
        call++;
        mark("ask", wait, 0);
        if (!acquire()) {
            mark("miss", 0, 0);
            return;
        }
        mark("enter", lease, token);
        if (lease == SHORT_MS) { /* left to its end */
            avoided.put(name, nowMs() + 2 * SHORT_MS);
            return;
        }
        hold();
        if (lease == 0) {
            renewed.put(name, nowMs());
        }
        mark("leave", lease, 0);
        mark(release(), 0, 0);
    }

    @Override
    public void run() {
        owner = redisson.getId() + ":" + Thread.currentThread().getId();
        try {
            while (!isOver) {
                turn();
            }
        } catch (Exception other) {
            System.out.println("wrong " + kind + " " + name + ": " + other);
            System.exit(1);
        }
    }

    private static RedissonClient connect(String url) {
        Config config = new Config();
        config.setLockWatchdogTimeout(WATCHDOG_MS);
        config.setFairLockWaitTimeout(FAIR_WAIT_MS);
        config.setCodec(StringCodec.INSTANCE);
        config.useSingleServer().setAddress(url).setConnectionMinimumIdleSize(1)
                .setClientName("soak-" + client);
        return Redisson.create(config);
    }

    public static void main(String[] args) throws Exception {
        client = args[1];
        sha = args[2];
        redisson = connect(args[0]);
        all = java.util.Arrays.copyOfRange(args, 4, args.length);
        Soak first = new Soak(0, 0);
        first.kind = first.name = "-";
        first.owner = redisson.getId();
        first.mark("start", 0, 0);
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            threads[i] = new Thread(new Soak(Long.parseLong(args[3]), i + 1));
            threads[i].start();
        }
        while (System.in.read() >= 0) {
            continue;
        }
        isOver = true;
        for (Thread thread : threads) {
            thread.join();
        }
        redisson.shutdown();
    }
}
