# pip install "python-socketio[client]"
# python examples/clients/client.py https://id.example ACCESS_TOKEN
import sys

import socketio

url, token = sys.argv[1:3]
offset = None
client = socketio.Client()


@client.on("ready")
def on_ready(ready):
    global offset
    offset = ready["offset"]
    print("ready", offset, flush=True)


@client.on("*")
def on_event(event, data=None, meta=None):
    global offset
    if meta and meta["offset"] is not None:
        offset = meta["offset"]
    print(event, data, flush=True)


client.connect(url, auth=lambda: {"token": token, "offset": offset}, transports=["websocket"])
client.wait()
