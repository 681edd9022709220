package inbox

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/omoi-dev/omoi/internal/wait"
)

// lastWord is how long the answer to a question that is under way is waited for once nobody
// wants the message any more: what is won must not be thrown away.
const lastWord = 2 * time.Second

// win asks the API for a message until it has answered. err is not nil if ctx ended first:
// then it is not known who has it.
func (b *Inbox) win(ctx context.Context, m Message) (won bool, err error) {
	for backoff := b.cfg.MinBackoff; ; {
		won, decided := b.ask(ctx, m.ID)
		if decided {
			return won, nil
		}
		backoff = b.rest(ctx, 0, backoff)
		if err := ctx.Err(); err != nil {
			return false, err
		}
	}
}

// ask posts the plain receipt under this taker's name. Where it is not decided the same question may have another answer: omoi
// has not answered, or cannot now; a refusal without its code, or what cannot be read, is of something on the way.
func (b *Inbox) ask(ctx context.Context, id string) (won, decided bool) {
	ctx, cancel := wait.Outlast(ctx, lastWord)
	defer cancel()
	answer, err := b.line.Post(ctx, "/messages/"+url.PathEscape(id)+"/ack?taker="+url.QueryEscape(b.used.Taker), []byte("{}"), false)
	switch {
	case err != nil, answer.Status >= http.StatusMultipleChoices && answer.Code == "", answer.Later():
		return false, false
	case answer.Status >= http.StatusMultipleChoices:
		return false, true // what it does not know, or does not give, is not used
	}
	var said struct {
		Settled *bool `json:"settled"`
	}
	if json.Unmarshal(answer.Body, &said) != nil {
		return false, false
	}
	return said.Settled == nil || *said.Settled, true
}
