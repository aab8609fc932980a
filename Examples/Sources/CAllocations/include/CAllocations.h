#ifndef C_ALLOCATIONS_H
#define C_ALLOCATIONS_H

// How many times the calling thread has allocated memory.
unsigned long callocations_count(void);

#endif
