-- A filter of pandoc for make html: links lead to the HTML of pages and manual pages, a table
-- can be scrolled by itself, and the first heading is the title. Variables come from mk/html.sh.
local manuals = os.getenv("HTML_MANUALS") -- " holdfast-lock.3 ..."
local root = os.getenv("HTML_ROOT")       -- "" or "../": from the page to the top folder
local folder = os.getenv("HTML_FOLDER")   -- of the page: "" or "docs/"
local title

function Header(h)
    if h.level == 1 and not title then
        title = pandoc.utils.stringify(h)
    end
end

-- lock/lock.h: holdfast-lock.3, if there is such a page.
local function manual_of(path)
    local name = path:match("([%w_]+)%.h$")
    if name and path:match("^[%./]*%l+/") and manuals:find(" holdfast-" .. name .. ".3 ", 1, true) then
        return "holdfast-" .. name .. ".3"
    end
    return path:match("([%w-]+%.[17])$")
end

-- The first heading of a page.
local function title_of(path)
    local file = io.open(folder .. path)
    local line = file and file:read("l")
    if file then
        file:close()
    end
    return line and line:match("^# (.*)$")
end

local function is_folder(path)
    local file = io.open(folder .. path .. "/.")
    if file then
        file:close()
    end
    return file ~= nil
end

function Link(l)
    if l.target:match("^%a+:") or l.target:match("^#") then
        return l
    end
    local path, id = l.target:match("^([^#]*)(.*)$")
    local manual = manual_of(path)
    if manual then
        l.target = root .. "man/" .. manual .. ".html" .. id
    elseif path:match("%.md$") then
        -- "quorum.md" is a name of a file; a reader of HTML knows the title.
        local text = pandoc.utils.stringify(l.content)
        if text == path or text == path:match("[^/]+$") then
            l.content = title_of(path) or text
        end
        l.target = path:gsub("%.md$", ".html") .. id
    elseif is_folder(path) then
        l.target = path:gsub("/$", "") .. "/index.html"
    end
    return l
end

function Table(t)
    return pandoc.Div({t}, pandoc.Attr("", {"table"}))
end

function Pandoc(doc)
    doc.meta.title = title
    return doc
end
