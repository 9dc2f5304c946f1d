# The rooms of lib/ and their layers. This is the one table of them: lib/CMakeLists.txt builds by it,
# tests/CMakeLists.txt links by it, and the test include_direction checks the #include lines by it.
# A room includes only rooms of a lower layer.
set(SLOTWISE_ROOMS
    base=0 observe=0
    resp=1 commands=1 net=1
    link=2 topology=2
    routing=3
    client=4
    hotkey=5)

# slotwise_room_names(<variable>): all rooms, lowest layer first.
function(slotwise_room_names result)
  list(TRANSFORM SLOTWISE_ROOMS REPLACE "=.*" "" OUTPUT_VARIABLE names)
  set(${result} ${names} PARENT_SCOPE)
endfunction()

# slotwise_rooms_up_to(<room> <variable>): the room and all rooms of lower layers.
function(slotwise_rooms_up_to room result)
  string(REGEX MATCH "(^|;)${room}=([0-9]+)" _ "${SLOTWISE_ROOMS}")
  set(top ${CMAKE_MATCH_2})
  set(names ${room})
  foreach(entry IN LISTS SLOTWISE_ROOMS)
    string(REGEX MATCH "^([a-z]+)=([0-9]+)$" _ "${entry}")
    if(CMAKE_MATCH_2 LESS top)
      list(APPEND names ${CMAKE_MATCH_1})
    endif()
  endforeach()
  set(${result} ${names} PARENT_SCOPE)
endfunction()
