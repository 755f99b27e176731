package proc

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

func readTable() ([]entry, error) {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil, err
	}
	defer windows.CloseHandle(snapshot)
	row := windows.ProcessEntry32{}
	row.Size = uint32(unsafe.Sizeof(row))
	var table []entry
	for err = windows.Process32First(snapshot, &row); err == nil; err = windows.Process32Next(snapshot, &row) {
		table = append(table, entry{
			pid:  int(row.ProcessID),
			ppid: int(row.ParentProcessID),
			name: windows.UTF16ToString(row.ExeFile[:]),
		})
	}
	return table, nil
}

// readEntry opens the process for its start time and looks its parent up in
// the table. A parent that is younger than its child is a reused pid.
func readEntry(pid int) (entry, bool) {
	start, ok := startOf(pid)
	if !ok {
		return entry{}, false
	}
	table, err := readTable()
	if err != nil {
		return entry{}, false
	}
	for _, e := range table {
		if e.pid != pid {
			continue
		}
		e.start = start
		if born, ok := startOf(e.ppid); ok && born > start {
			e.ppid = 0
		}
		return e, true
	}
	return entry{}, false
}

func startOf(pid int) (uint64, bool) {
	if pid <= 0 {
		return 0, false
	}
	handle, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return 0, false
	}
	defer windows.CloseHandle(handle)
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(handle, &created, &exited, &kernel, &user); err != nil {
		return 0, false
	}
	return uint64(created.Nanoseconds()), true
}
