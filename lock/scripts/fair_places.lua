-- The places of a fair lock's queue: a part of the scripts that read it.
-- Takes   queue, places, now (all in ms), place (of a waiter that sends this; 0: no
--         waiter), floor: within this time a waiter of holdfast sends its next acquire
-- Leaves  drop_stale, settle, honour, mark, is_ours, WINDOW
-- Each function processes the first 200 places at most; the next scripts the others.
-- What is refused in settle is not an error: the script has done something already.
--
-- The grant of a Redisson waiter takes its wait off all scores, and so does one that
-- leaves the queue, off those behind it. Only the head is dropped when its score is in
-- the past. So a waiter keeps its place until its next acquire if its score is not below
-- now + floor + the waits of all Redisson waiters before it. settle keeps it there: for the
-- waiter that sends this, and, while the lock is held, for Redisson's waiters, which do not
-- prolong their places. Only live waiters of holdfast keep their places; a place whose
-- time is over is dropped, or left to be dropped.
-- A wait is known by the distance to the score before it; not that of the head, which is
-- taken to be Redisson's default, or what is left of it; of a longer one, an hour may be
-- over already. What the sender's score says counts also: it was set when more was left.
-- The number in the name of a Redisson waiter is a Java thread id: positive and short. In
-- holdfast's it is negative (hf_owner_thread) or chosen by the user, and has at least ten
-- digits (hf_owner_format). A score of a waiter of holdfast has its mark as a fraction, by
-- which a chosen number is recognised.
-- Redisson's waiters inherit fractions from the place before them; those are removed.
local WINDOW, WAIT, HOUR, FAR = 200, 300000, 3600000, 30 * 86400000
local function mark(who)
    local sum = 0
    for _, byte in ipairs({who:byte(-10, -1)}) do
        sum = (sum * 31 + byte) % 1021
    end
    return (sum + 1) / 1024
end
local function is_ours(who, score)
    return who:find(':%-%d+$') or
        who:find(':%d%d%d%d%d%d%d%d%d%d+$') and score % 1 == mark(who)
end
local function honour(who, until_ms)
    return redis.pcall('zadd', places, string.format('%.17g', until_ms), who)
end
-- Returns the head, its score (nil: none), and whether it is stale, because there are more.
local function drop_stale(keep)
    for i = 0, WINDOW do
        local head = redis.call('lrange', queue, '0', '0')[1]
        local ends = head and tonumber(redis.call('zscore', places, head) or nil)
        local is_stale = ends and ends <= now and head ~= keep
        if not is_stale or i == WINDOW then
            return head, ends, is_stale
        end
        redis.call('zrem', places, head)
        redis.call('lpop', queue)
    end
end
-- The first places, with their scores repaired, and which of them is that of `me`.
local function read_places(me)
    local list, at = {}, nil
    for i, who in ipairs(redis.pcall('lrange', queue, '0', '199')) do
        local s = tonumber(redis.pcall('zscore', places, who) or nil)
        local before = math.max(i > 1 and list[i - 1].score or now, now)
        local p = {who = who, old = s, before = before}
        p.mark = s and is_ours(who, s) and mark(who)
        if not s or s ~= s or s > before + math.max(FAR, 4 * place) then
            s = before + WAIT
        elseif not p.mark and s % 1 > 0 then
            s = math.floor(s)
        end
        p.score = s
        list[i], at = p, at or who == me and i
    end
    return list, at
end
-- Sets `wait` of each place: what Redisson takes off all scores when its waiter is granted
-- the lock. `silence`: since the last acquire of the waiter at `at`.
local function add_waits(list, at, silence)
    local sum, first = 0, nil -- before `at`
    for i, p in ipairs(list) do
        local is_behind_stale = i > 1 and list[i - 1].score <= now
        local left = p.score - (is_behind_stale and now or p.before)
        if p.mark or p.score <= now then
            p.wait = 0
        elseif i > 1 and not is_behind_stale and left > 0 then
            p.wait = left
        else
            p.wait = math.max(WAIT, left > 1.2 * WAIT and left + math.min(left, HOUR) or left)
        end
        if at and i < at then
            sum, first = sum + p.wait, first or p.wait > 0 and p
        end
    end
    if first then
        first.wait = first.wait + math.max(list[at].score + silence - now - place - sum, 0)
    end
end
-- state: 'held', 'free', or false: the lock is held, and no holder renews the others' places.
-- me: the waiter that sends this. silence: since its last acquire. less: to take off the
-- scores from index `first` on. Returns the head's score, and whether `me` was found.
local function settle(state, me, silence, first, less)
    local list, at = read_places(me)
    add_waits(list, at, silence)
    local sum, raise = 0, 0
    less = less or 0
    for i, p in ipairs(list) do
        local s, need, least = p.score, now + floor + sum, now + place + sum
        local score = p.mark and s or s + raise
        if less > 0 and i >= first then
            score = math.max(s - less, math.min(s, need))
            less = s - score
        end
        if i == at then -- a little less is not worth a write
            score = least - score > math.min(floor / 10, 500) and least or score
        elseif state == 'held' and not p.mark and s > now and score < need - floor / 10 then
            score = need
        end
        if i == 1 and state == 'free' then
            score = math.min(score, now + (p.mark and math.max(place, floor) or 15000))
            if p.mark and first ~= 1 then
                first, less = 1, s - score
            end
        end
        p.score = math.floor(score) + (p.mark or 0)
        raise = (i == at or not p.mark) and math.max(p.score - s, 0) or 0
        if p.score ~= p.old then
            honour(p.who, p.score)
        end
        sum = sum + p.wait
    end
    return list[1] and list[1].score, at
end
