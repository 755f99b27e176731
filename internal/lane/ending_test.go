package lane

import "testing"

func TestLastLine(t *testing.T) {
	tests := []struct{ tail, want string }{
		{"", ""},
		{"\n \n", ""},
		{"one", "one"},
		{"one\ntwo\n", "two"},
		{"one\r\n  two\t\r\n\n", "two"},
		{"10%\r100%", "100%"},
	}
	for _, tt := range tests {
		if got := LastLine(tt.tail); got != tt.want {
			t.Errorf("LastLine(%q) = %q, want %q", tt.tail, got, tt.want)
		}
	}
}

func TestExitStatusString(t *testing.T) {
	tests := []struct {
		status ExitStatus
		want   string
	}{
		{ExitStatus{Code: 3}, "the agent exited with code 3"},
		{ExitStatus{Code: -1, Signal: "SIGKILL"}, "the agent was ended by SIGKILL"},
	}
	for _, tt := range tests {
		if got := tt.status.String(); got != tt.want {
			t.Errorf("String() = %q, want %q", got, tt.want)
		}
	}
}
