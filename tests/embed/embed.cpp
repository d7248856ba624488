// The same in C++17, with containers: a tape that begins without room and
// grows when asked, a buffer whose used bytes are dropped, views into it.
#include "hf_resp.h"

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace
{

bool failed;

void expect(bool is_so, const char *what)
{
    if (is_so)
        return;
    std::fprintf(stderr, "embed.cpp: not so: %s\n", what);
    failed = true;
}

std::string command(const std::vector<std::string_view> &words)
{
    std::vector<hf_resp_arg> argv;

    for (auto word : words)
        argv.push_back({word.data(), word.size()});
    std::string bytes(hf_resp_command_size(argv.data(), argv.size()), '\0');
    hf_resp_put_command(bytes.data(), argv.data(), argv.size());
    return bytes;
}

std::string_view text(hf_resp_value v)
{
    const char *ptr = nullptr;
    size_t len = 0;

    expect(hf_resp_bytes(v, &ptr, &len) == HF_OK, "a value with bytes");
    return {ptr, len};
}

class Reader
{
  public:
    Reader()
    {
        hf_resp_init(&parser, nullptr, 3);
    }

    // Takes in bytes; true if a value stands at the front of the tape.
    bool take(std::string_view bytes)
    {
        hf_status status;

        buffer += bytes;
        while ((status = hf_resp_parse(&parser, buffer.data(), buffer.size(),
                                       &tape)) == HF_RESP_ROOM) {
            nodes.resize(nodes.size() + 1);
            tape.nodes = nodes.data();
            tape.room = static_cast<uint32_t>(nodes.size());
        }
        expect(status == HF_OK || status == HF_RESP_MORE, "no error");
        return status == HF_OK;
    }

    hf_resp_value value() const
    {
        return hf_resp_first(&tape, buffer.data(), 0);
    }

    // Forgets that value.
    void drop()
    {
        size_t bytes = 0;

        hf_resp_drop(&parser, &tape, &bytes);
        buffer.erase(0, bytes);
    }

    bool is_empty() const
    {
        return buffer.empty() && tape.count == 0;
    }

  private:
    hf_resp_parser parser;
    std::vector<hf_resp_node> nodes;
    hf_resp_tape tape = {nullptr, 0, 0};
    std::string buffer;
};

// A push of three elements, byte by byte, twice through the same reader.
void read_byte_by_byte()
{
    const std::string_view bytes =
        ">3\r\n+message\r\n$1\r\nc\r\n$3\r\na\r\n\r\n";
    Reader reader;

    for (int i = 0; i < 2; i++) {
        for (size_t at = 0; at + 1 < bytes.size(); at++)
            expect(!reader.take(bytes.substr(at, 1)), "not yet whole");
        expect(reader.take(bytes.substr(bytes.size() - 1)), "whole");
        expect(hf_resp_type(reader.value()) == HF_RESP_PUSH, "a push");

        std::string joined;
        auto it = hf_resp_children(reader.value());
        for (hf_resp_value child; hf_resp_next(&it, &child);)
            joined += std::string(text(child)) + "|";
        expect(joined == "message|c|a\r\n|", "its elements");
        reader.drop();
        expect(reader.is_empty(), "nothing left behind");
    }
}

} // namespace

int main()
{
    expect(command({"GET", ""}) == "*2\r\n$3\r\nGET\r\n$0\r\n\r\n",
           "a command");
    read_byte_by_byte();
    return failed;
}
