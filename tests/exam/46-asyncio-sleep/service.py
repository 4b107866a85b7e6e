# SPDX-License-Identifier: GPL-2.0-or-later
"""service.py PORT: an asyncio server, one of whose requests makes a blocking call."""
import asyncio
import sys
import time


def legacy_lookup():
    time.sleep(0.15)
    return b"slow\n"


async def serve(reader, writer):
    while request := await reader.readline():
        writer.write(legacy_lookup() if request == b"slow\n" else b"fast\n")
        await writer.drain()
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())
