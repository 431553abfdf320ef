module latchkey.example/latchkey

go 1.25.0

require github.com/go-jose/go-jose/v4 v4.1.9
