// A program with the official SDK: prints where to ask the user, calls until it is ended.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	returned := make(chan *auth.AuthorizationResult, 1)
	go http.Serve(listener, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		returned <- &auth.AuthorizationResult{Code: query.Get("code"), State: query.Get("state"), Iss: query.Get("iss")}
	}))
	asked := 0
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		PreregisteredClient: &oauthex.ClientCredentials{ClientID: "cli-agent"},
		RedirectURL:         fmt.Sprintf("http://%s/cb", listener.Addr()),
		RequestRefreshToken: true,
		AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			if asked++; asked > 1 {
				return nil, fmt.Errorf("the user has ended this program")
			}
			fmt.Println("authorize", args.URL)
			return <-returned, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "program", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: os.Args[1], OAuthHandler: handler}, nil)
	if err != nil {
		log.Fatal(err)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "list_orders"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("called", result.Content[0].(*mcp.TextContent).Text)
	_, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "wait_for_orders"})
	fmt.Println("ended", err)
	_, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "list_orders"})
	fmt.Println("refused", err)
}
