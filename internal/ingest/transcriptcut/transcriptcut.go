// Package transcriptcut shortens the last event of a legacy worker while it arrives. Such a worker puts the whole
// transcript of its run into this event, and resends it until it is acknowledged. The package imports nothing else of
// omoi, since omoi-agent links it too.
package transcriptcut

import "bytes"

const transcriptKey = "transcript_b64"

// Cutter finds the transcript in the event_data of a partial JSON object, and keeps the end of the transcript.
type Cutter struct {
	body *bytes.Buffer
	most int // maximum characters of a transcript

	at     int // the body is scanned up to here
	depth  int
	open   int  // start of the open string; -1: none
	odd    bool // the open string has escapes, which base64 has not
	named  bool // the last string is the transcript's key
	isNext bool // a colon followed: the next string is the transcript
	inside bool // the open string is the transcript
	length int  // length of the closed transcript
	cut    int64
}

// New returns a cutter of what arrives in body. It keeps about most characters of a transcript.
func New(body *bytes.Buffer, most int) *Cutter { return &Cutter{body: body, most: most, open: -1} }

// Cut returns the number of bytes that were cut off at the beginning of the transcript.
func (l *Cutter) Cut() int64 { return l.cut }

// Kept returns the number of characters of transcript in the body.
func (l *Cutter) Kept() int {
	if l.inside && !l.odd {
		return l.at - l.open
	}
	return l.length
}

// Scan scans the new part of the body, shortens an open transcript and returns by how many characters.
func (l *Cutter) Scan() (less int64) {
	before := l.cut
	for b := l.body.Bytes(); l.at < len(b); b = l.body.Bytes() {
		if l.open < 0 {
			l.outside(b[l.at])
			l.at++
			continue
		}
		step := bytes.IndexAny(b[l.at:], `"\`)
		if step < 0 {
			l.at = len(b)
			break
		}
		l.at += step
		if b[l.at] == '\\' {
			if l.odd = true; l.at+1 == len(b) {
				break // the escaped character comes next
			}
			l.at += 2
			continue
		}
		l.close(string(b[l.open:min(l.at, l.open+len(transcriptKey)+1)]))
	}
	l.shorten(l.inside)
	const per, of = 3, 4 // bytes in characters of base64
	return (l.cut - before) / per * of
}

func (l *Cutter) outside(c byte) {
	switch c {
	case '{', '[':
		l.depth++
	case '}', ']':
		l.depth--
	case ':':
		l.isNext = l.named
	case ' ', '\t', '\r', '\n':
		return
	case '"':
		l.open, l.odd, l.inside = l.at+1, false, l.isNext
	}
	if c != ':' {
		l.isNext = false
	}
	l.named = l.named && c == ':'
}

func (l *Cutter) close(text string) {
	const inData = 2 // depth of event_data
	l.shorten(l.inside)
	if l.inside && !l.odd {
		l.length = l.at - l.open
	}
	l.named = !l.inside && l.depth == inData && text == transcriptKey
	l.inside, l.open = false, -1
	l.at++
}

// shorten removes the oldest part of a transcript that is too long, in whole groups of base64.
func (l *Cutter) shorten(transcript bool) {
	const group, bytesOf = 4, 3
	over := l.at - l.open - l.most
	if !transcript || l.odd || over <= 0 {
		return
	}
	groups := (over + group - 1) / group
	b := l.body.Bytes()
	l.body.Truncate(l.open + copy(b[l.open:], b[l.open+groups*group:]))
	l.at -= groups * group
	l.cut += int64(groups * bytesOf)
}
