package toolbox

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
)

const (
	versionHeader = "X-Daytona-Sdk-Version"
	versionOffer  = "X-Daytona-SDK-Version~" // a subprotocol, of callers that cannot set headers
	splitHeader   = "X-Daytona-Split-Output"
)

// sdkVersion is what the caller says of itself, and the subprotocol by which it said so.
func sdkVersion(r *http.Request) (version, offer string) {
	if version = r.Header.Get(versionHeader); version != "" {
		return version, ""
	}
	for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
		for one := range strings.SplitSeq(line, ",") {
			if rest, found := strings.CutPrefix(strings.TrimSpace(one), versionOffer); found {
				return rest, versionOffer + rest
			}
		}
	}
	return "", ""
}

// separates reports whether a version knows separate streams: 0.167.0 and later do.
func separates(version string) bool {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, err := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return err == nil && err2 == nil && (major > 0 || minor >= 167)
}

func (d *daemon) commandLogs(w http.ResponseWriter, r *http.Request) error {
	s, c, err := d.command(r)
	if err != nil {
		return err
	}
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") && r.URL.Query().Get("follow") == "true" {
		return d.follow(w, r, s, c)
	}
	return answerLog(w, r, c.log)
}

func (d *daemon) entrypointLogs(w http.ResponseWriter, r *http.Request) error {
	return answerLog(w, r, newJournal())
}

// answerLog answers the whole log: separate streams to who knows them, else plain text.
func answerLog(w http.ResponseWriter, r *http.Request, log *journal) error {
	if version, _ := sdkVersion(r); separates(version) {
		output, out, errs := log.texts()
		return answer(w, http.StatusOK, map[string]string{"output": output, "stdout": out, "stderr": errs})
	}
	text, _, _ := log.view(false, 0)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(text)
	return nil
}

// follow sends the log from its beginning, in frames that heed neither lines nor marks, and
// closes once the command has ended and was quiet.
func (d *daemon) follow(w http.ResponseWriter, r *http.Request, s *session, c *command) error {
	version, offer := sdkVersion(r)
	marked := separates(version) || r.Header.Get(splitHeader) == "true"
	options := &websocket.AcceptOptions{InsecureSkipVerify: true} // who may come was asked before
	if offer != "" {
		options.Subprotocols = []string{offer}
	}
	conn, err := websocket.Accept(w, r, options)
	if err != nil {
		return nil // it has answered
	}
	defer conn.CloseNow() //nolint:errcheck // closed in order before, or broken
	ctx := conn.CloseRead(context.WithoutCancel(r.Context()))
	for at := 0; ; {
		rest, closed, more := c.log.view(marked, at)
		if len(rest) > 0 {
			frame := rest[:min(len(rest), d.cfg.Frame)]
			if err := conn.Write(ctx, websocket.MessageBinary, frame); err != nil {
				return nil // the follower is gone
			}
			at += len(frame)
			continue
		}
		if closed || !d.awaitMore(ctx, s, c, more) {
			_ = conn.Close(websocket.StatusNormalClosure, "")
			return nil
		}
	}
}

// awaitMore reports whether there may be more to read: not so once the command has ended and
// was quiet for a while.
func (d *daemon) awaitMore(ctx context.Context, s *session, c *command, more <-chan struct{}) bool {
	select {
	case <-more:
		return true
	case <-ctx.Done():
		return false
	case <-c.done:
	case <-s.ended:
	}
	timer := time.NewTimer(d.cfg.Quiet)
	defer timer.Stop()
	select {
	case <-more:
		return true
	case <-ctx.Done():
		return false
	case <-timer.C:
		return false
	}
}
