-- The places of the queue of a fair lock: a part of the scripts that read it.
-- Takes   queue, places, now (all in ms), place (of the waiter that sends this; 0: it
--         is not a waiter), floor: within this time a waiter of holdfast sends its next acquire
-- Leaves  drop_stale, settle, honour, mark, is_ours, WINDOW
-- Each function processes at most the first 200 places; the next scripts process the others.
-- A refused command in settle is not an error, because the script has made changes already.
--
-- When a waiter of Redisson is granted the lock, it subtracts its wait from all scores; when
-- it leaves the queue, from those after it. Only the head is dropped when its score is in the
-- past. So a waiter keeps its place until its next acquire if its score is not below now +
-- floor + the waits of all Redisson waiters before it. settle keeps it there: for the waiter
-- that sends this, and, while the lock is held, for Redisson's waiters, which do not extend
-- their places. Only live waiters of holdfast keep their places; a place that has expired is
-- dropped now or later.
-- The wait of a place is the distance to the score before it. For the head it is unknown:
-- Redisson's default, or the rest of it, is assumed; of a longer wait, an hour may have passed.
-- The score of the sender also counts, because it was set when more time was left.
-- The number in the name of a Redisson waiter is a Java thread id: positive and short. In
-- holdfast's it is negative (hf_owner_thread) or chosen by the user, and has at least ten
-- digits (hf_owner_format). A score of a waiter of holdfast has its mark as a fraction, by
-- which a chosen number is recognised.
-- Redisson's waiters inherit fractions from the place before them; those are removed.
local WINDOW, WAIT, HOUR, FAR = 200, 300000, 3600000, 30 * 86400000
local function mark(who)
    local a, b, c, d, e, f, g, h, i, j = who:byte(-10, -1)
    local sum = ((((a * 31 + b) * 31 + c) * 31 + d) * 31 + e) % 1021
    return ((((((sum * 31 + f) * 31 + g) * 31 + h) * 31 + i) * 31 + j) % 1021 + 1) / 1024
end
-- The mark of a waiter of holdfast, or false.
local function mark_of(who, score)
    local from = #who > 10 and who:find(':', 1, true)
    if from and who:byte(from + 1) == 45 then
        return who:find('^%-%d+$', from + 1) and mark(who)
    end
    local m = from and #who - from > 9 and mark(who)
    return m and score % 1 == m and m
end
local function honour(who, until_ms)
    return redis.pcall('zadd', KEYS[3], string.format('%.17g', until_ms), who)
end
-- Returns the head, its score (nil: none), and whether it is stale, because there are more.
local function drop_stale(keep)
    for i = 0, WINDOW do
        local head = redis.call('lrange', KEYS[2], '0', '0')[1]
        local ends = head and tonumber(redis.call('zscore', KEYS[3], head) or nil)
        local is_stale = ends and ends <= now and head ~= keep
        if not is_stale or i == WINDOW then
            return head, ends, is_stale
        end
        redis.call('zrem', KEYS[3], head)
        redis.call('lpop', KEYS[2])
    end
end
-- The first places: who, score (repaired), mark or false, score as stored or false. Then
-- which of them is that of `me`, and whether all are of holdfast with right scores.
local function read_places(me)
    local whos, scores, marks, olds = redis.pcall('lrange', KEYS[2], '0', '199'), {}, {}, {}
    local found, read = redis.pcall('zrange', KEYS[3], '0', '199', 'withscores'), {}
    for i = 2, #found, 2 do
        read[found[i - 1]] = tonumber(found[i])
    end
    local before, far, at, is_plain = now, math.max(FAR, 4 * place), nil, true
    for i, who in ipairs(whos) do
        local old = read[who] or tonumber(redis.pcall('zscore', KEYS[3], who) or nil)
        local s, m = old, old and mark_of(who, old)
        if not s or s ~= s or s > before + far then
            s = before + WAIT
        elseif not m and s % 1 > 0 then
            s = math.floor(s)
        end
        is_plain = is_plain and s == old and s % 1 == m
        scores[i], marks[i], olds[i] = s, m or false, old or false
        at, before = at or who == me and i, math.max(s, now)
    end
    return whos, scores, marks, olds, at, is_plain
end
-- The wait of each place: what Redisson takes off all scores when its waiter is granted
-- the lock. `silence`: since the last acquire of the waiter at `at`.
local function waits_of(scores, marks, at, silence)
    local waits, sum, first = {}, 0, nil -- before `at`
    for i, s in ipairs(scores) do
        local wait = 0
        if not marks[i] and s > now then
            local last = scores[i - 1] or now
            local is_behind_stale = i > 1 and last <= now
            local left = s - math.max(last, now)
            if i > 1 and not is_behind_stale and left > 0 then
                wait = left
            else
                wait = math.max(WAIT, left > 1.2 * WAIT and left + math.min(left, HOUR) or left)
            end
        end
        waits[i] = wait
        if at and i < at then
            sum, first = sum + wait, first or wait > 0 and i
        end
    end
    if first then
        waits[first] = waits[first] + math.max(scores[at] + silence - now - place - sum, 0)
    end
    return waits
end
-- state: 'held', 'free', or false: the lock is held, and no holder renews the others' places.
-- me: the waiter that sends this. silence: since its last acquire. less: to take off the
-- scores from index `first` on. Returns the head's score, and whether `me` was found.
local function settle(state, me, silence, first, less)
    local whos, scores, marks, olds, at, is_plain = read_places(me)
    local waits = is_plain and {} or waits_of(scores, marks, at, silence)
    local sum, raise = 0, 0
    less = less or 0
    for i, s in ipairs(scores) do
        -- Among waiters of holdfast, the others' places stay as they are.
        if not is_plain or less > 0 or i == 1 or i == at then
            local m, need, least = marks[i], now + floor + sum, now + place + sum
            local score = m and s or s + raise
            if less > 0 and i >= first then
                score = math.max(s - less, math.min(s, need))
                less = s - score
            end
            if i == at then -- a little less is not worth a write
                score = least - score > math.min(floor / 10, 500) and least or score
            elseif state == 'held' and not m and s > now and score < need - floor / 10 then
                score = need
            end
            if i == 1 and state == 'free' then
                score = math.min(score, now + (m and math.max(place, floor) or 15000))
                if m and first ~= 1 then
                    first, less = 1, s - score
                end
            end
            score = math.floor(score) + (m or 0)
            raise = (i == at or not m) and math.max(score - s, 0) or 0
            if score ~= olds[i] then
                honour(whos[i], score)
            end
            scores[i], sum = score, sum + (waits[i] or 0)
        end
    end
    return scores[1], at
end
