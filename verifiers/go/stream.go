package latchkey

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// follow reads the feed of ended sessions, over one connection after another.
func (v *Verifier) follow(ctx context.Context) {
	cursor := ""
	for failures := 1; ctx.Err() == nil; failures++ {
		v.mu.Lock()
		if v.isSetBack() {
			cursor, v.sweptAt = "", time.Time{}
		}
		v.sweep()
		v.mu.Unlock()
		s := &stream{Verifier: v, cursor: cursor, last: v.moment()}
		err := s.connect(ctx)
		if cursor = s.cursor; s.isReady {
			failures = 1
		}
		v.mu.Lock()
		if v.completeAt, v.refused = (moment{}), nil; err == errRefused {
			v.refused = errRefused
		}
		v.mu.Unlock()
		// One broken connection is no outage.
		if ctx.Err() == nil && (failures == 2 || failures == 1 && err == errRefused) {
			slog.Warn("latchkey: sign-outs are not received", "error", err, "cause", errors.Unwrap(err))
		}
		pause := min(100*time.Millisecond<<min(failures-1, 6), 5*time.Second)
		pause = max(pause, min(s.retryAfter, 30*time.Second))
		select {
		case <-time.After(pause/2 + rand.N(pause/2)):
		case <-ctx.Done():
		}
	}
}

// stream is one connection to the feed.
type stream struct {
	*Verifier
	body        io.ReadCloser
	timer       *time.Timer // ends a silence
	last        moment      // when something was received
	isOld       bool        // whether there was a silence: then events before it may be outdated
	isReady     bool
	endedWithCR bool
	cursor      string
	retryAfter  time.Duration
}

func (s *stream) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.timer = time.AfterFunc(connectTimeout, func() { cancel(errSilent) })
	defer s.timer.Stop()
	header := http.Header{"Accept": {"text/event-stream"}}
	if s.cursor != "" {
		header.Set("Last-Event-ID", s.cursor)
	}
	response, err := s.send(ctx, "/sessions/ended", "", header)
	if response != nil {
		s.body = response.Body
		defer s.body.Close()
		s.retryAfter, _ = time.ParseDuration(response.Header.Get("Retry-After") + "s")
	}
	if err == nil && !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		err = errors.New("the answer is no event stream")
	}
	if err == nil {
		err = s.read()
	}
	if context.Cause(ctx) != nil {
		return context.Cause(ctx)
	}
	return err
}

// Read fails after a silence: what comes then may be outdated, since this process may have been paused.
func (s *stream) Read(piece []byte) (int, error) {
	n, err := s.body.Read(piece)
	s.isOld = s.isOld || s.since(s.last) > silence
	s.last = s.moment()
	if !s.isReady {
		s.timer.Reset(connectTimeout)
	} else if s.isOld || s.since(s.completeAt) > silence {
		return 0, errSilent
	}
	return n, err
}

// read parses the stream (HTML standard §9.2.6).
func (s *stream) read() error {
	lines, name, data, id := bufio.NewScanner(s), "", []byte(nil), ""
	lines.Buffer(nil, longest+2)
	lines.Split(s.splitLine)
	for first := true; lines.Scan(); first = false {
		line := lines.Text()
		if first {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if err := s.takeBlock(name, data, id); err != nil {
				return err
			}
			name, data, id = "", nil, ""
		case field == "event":
			name = value
		case field == "id" && !strings.Contains(value, "\x00"):
			id = value
		case field == "data":
			if data = append(append(data, value...), '\n'); len(data) > longest {
				return bufio.ErrTooLong
			}
		}
	}
	return cmp.Or(lines.Err(), io.EOF)
}

// splitLine ends a line at CR, LF or CR LF.
func (s *stream) splitLine(text []byte, _ bool) (int, []byte, error) {
	begin := 0
	if s.endedWithCR && len(text) > 0 && text[0] == '\n' {
		begin = 1
	}
	end := bytes.IndexAny(text[begin:], "\r\n")
	if end < 0 {
		return 0, nil, nil
	}
	end += begin
	s.endedWithCR = text[end] == '\r'
	return end + 1, text[begin:end], nil
}

// takeBlock takes an event, and the cursor: the service has just read its database, and has sent all before it.
func (s *stream) takeBlock(name string, data []byte, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(data) > 0 && name != "ready" {
		if err := s.take(name, data); err != nil {
			return err
		}
	}
	s.isReady = s.isReady || name == "ready" && len(data) > 0
	if len(id) <= longestCursor && isCursor(id) {
		s.cursor = id
	}
	if isSetBack := id != "" && s.isSetBack(); isSetBack || s.isReady && s.isOld {
		return errSilent
	}
	if s.isReady && (id != "" || name == "ready") {
		s.refused, s.completeAt = nil, s.last
		s.timer.Reset(silence)
		s.sweep()
	}
	return nil
}
