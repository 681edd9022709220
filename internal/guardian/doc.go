// Package guardian judges agents at work and steers them: it brings together what is stored of
// an attempt, what package supervise thinks of it, and the ladder of steps. A cycle judges every
// active sandbox once; whoever dies in the middle of one leaves nothing half done, since a
// judgement and the step that follows from it are one write, and a step's id is the key of its
// message or command.
package guardian
