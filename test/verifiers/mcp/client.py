"""A program with the official SDK: prints where to ask the user, calls until it is ended."""
import asyncio
import logging
import sys
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import ClientSession, MCPError
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata


class Storage:
    tokens = None

    def __init__(self, client):
        self.client = client

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def main(address):
    answer = asyncio.get_running_loop().create_future()

    async def receive(reader, writer):
        target = (await reader.readline()).split()[1].decode()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()
        answer.set_result(parse_qs(urlsplit(target).query))

    listener = await asyncio.start_server(receive, "127.0.0.1", 0)
    redirect = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/cb"
    metadata = OAuthClientMetadata(redirect_uris=[redirect], client_name="Python")
    client = OAuthClientInformationFull(client_id="cli-agent", redirect_uris=[redirect], token_endpoint_auth_method="none")

    async def redirected(url):
        if answer.done():
            raise RuntimeError("the user has ended this program")
        print("authorize", url, flush=True)

    async def returned():
        query = await answer
        return AuthorizationCodeResult(code=query["code"][0], state=query["state"][0], iss=query["iss"][0])

    auth = OAuthClientProvider(address, metadata, Storage(client), redirected, returned)
    async with httpx2.AsyncClient(auth=auth, timeout=httpx2.Timeout(30, read=300)) as http:
        async with streamable_http_client(address, http_client=http) as (read, write, *_):
            async with ClientSession(read, write) as session:
                await session.initialize()
                result = await session.call_tool("list_orders", {})
                print("called", result.content[0].text, flush=True)
                try:
                    await session.call_tool("wait_for_orders", {})
                except MCPError as error:
                    print("ended", error, flush=True)
                await session.call_tool("list_orders", {})


logging.disable()
try:
    asyncio.run(main(sys.argv[1]))
except* RuntimeError as error:
    print("refused", error, flush=True)
