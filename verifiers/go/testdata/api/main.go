// An API for test/verifiers/go.spec.ts.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"latchkey.example/latchkey"
)

func main() {
	ways := map[string]latchkey.WhenAway{"accept": latchkey.Accept, "refuse": latchkey.Refuse}
	verifier, err := latchkey.New(latchkey.Options{
		Issuer:     os.Getenv("ISSUER"),
		URL:        os.Getenv("SERVICE_URL"),
		ServiceKey: os.Getenv("SERVICE_KEY"),
		WhenAway:   ways[os.Getenv("WHEN_AWAY")],
	})
	if err != nil {
		log.Fatal(err)
	}
	me := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(latchkey.FromContext(r.Context()))
	})
	api := http.NewServeMux()
	api.Handle("GET /me", me)
	api.Handle("GET /admin", latchkey.RequireRole(me, "admin"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, verifier.Middleware(api)))
}
