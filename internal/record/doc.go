// Package record writes down what an agent and dragoman say to each other: a
// file for each process, a JSON object a line,
//
//	{"t":SECONDS,"dir":DIR,"msg":JSON}   or   {…,"raw":"TEXT"}
//
// where DIR is ">" for the agent's stdin, "<" for its stdout, and "#" for a
// note of ours. Secrets are redacted by value and by shape, so a message may
// differ from what was said in nothing else.
//
// A recording never holds up or changes the conversation: what can't be
// written is lost from the file, and the file says so where it can.
package record
