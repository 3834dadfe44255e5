-- docs.lua: pandoc filter of make_docs.sh. A link to another document becomes a link to its page; a link to any other
-- file of the tree leads from the pages' folder to that file. Links within a page and to the web stay.
--
-- metadata: source, the document's path from the top ("labs/01_request_record/README.md"); to_top, the way from the
-- page's folder to the top ("../.."); up, the way to the folder of index.html ("" or "../"); pages, lines "PATH PAGE".

local folder, to_top, up, pages = "", "", "", {}

local function normal(path) -- without "." and ".."
    local parts = {}
    for part in path:gmatch("[^/]+") do
        if part == ".." and #parts > 0 and parts[#parts] ~= ".." then
            table.remove(parts)
        elseif part ~= "." then
            table.insert(parts, part)
        end
    end
    return table.concat(parts, "/")
end

local function target(url)
    if url:match("^%a[%w+.-]*:") or url:match("^[#/]") or url == "" then return url end
    local path, anchor = url:match("^([^#]*)(#?.*)$")
    path = normal(folder .. "/" .. path)
    local page = pages[path] or pages[normal(path .. "/README.md")]
    return (page and up .. page or to_top .. "/" .. path) .. anchor
end

local function read_metadata(meta)
    local text = pandoc.utils.stringify
    folder = text(meta.source):match("^(.*)/[^/]*$") or ""
    to_top = text(meta.to_top)
    up = text(meta.up)
    for path, page in text(meta.pages):gmatch("(%S+) (%S+)") do pages[path] = page end
    meta.source, meta.to_top, meta.up, meta.pages = nil, nil, nil, nil
    return meta
end

local function link(l)
    l.target = target(l.target)
    return l
end

return { { Meta = read_metadata }, { Link = link } }
